"""A report as text: `text` for people, `json_form` for programs, `github` for Actions, `sarif` for code scanning.

`summary` is the line of a table without findings; it does not load the rules.
"""
