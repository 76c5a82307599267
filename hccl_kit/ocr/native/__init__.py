"""C++ that MindSpore calls as custom operators on CPU, compiled on the computer that uses it."""
