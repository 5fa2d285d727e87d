"""The HTTP service of an alignment: JSON API, page, reconciliation API. `everalign serve` runs it.

The packages of the extra `service` are imported here and nowhere else.
"""
