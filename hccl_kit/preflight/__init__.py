"""This node against its rank table, before anything is started: rules HK6. It looks and tells; it changes nothing."""
