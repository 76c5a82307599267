"""A report as text: `text` for people, `json_form` for programs, `github` for Actions, `sarif` for code scanning."""
