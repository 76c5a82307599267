"""A diagnosis for people and programs: text, JSON, one page of HTML; and all three without names and addresses."""
