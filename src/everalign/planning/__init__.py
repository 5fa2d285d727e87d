"""What an alignment will cost: time, memory and disk, before it is begun.

`plan` puts an answer together, `costs` has the model and its coefficients, `survey` counts what is
in files, `recording` measures the steps of a run, and `time_left` follows one that is running.
"""
