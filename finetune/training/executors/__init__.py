"""Where runs are trained: in this process, or as tasks of a cluster.

An executor takes jobs and returns one outcome for each, in their order; what calls it knows nothing else.
"""
