"""Published sets of pages and words: each in the form in which its authors give it away. Without numpy and OpenCV."""
