"""The rank table: its model, its text, its formats, and the products that read it."""
