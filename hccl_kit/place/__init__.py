"""What an order of ranks costs on the servers and super pods of a table, and a better order where there is one.

`grid` are the groups of ranks, `volumes` what each sends in a step, `cost` what of it leaves a card pair, a server or a
super pod, `blocks` the cluster as nested blocks, `order` the best order of them. `topology` tells schedulers about the
same cluster. All functions are pure.
"""
