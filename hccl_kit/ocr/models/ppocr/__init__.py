"""The networks of PP-OCR (PaddleOCR, Apache-2.0), for which public weights exist."""
