"""The command line: parse, call the façade, print."""
