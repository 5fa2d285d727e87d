"""Where the work of a method is done, if not in threads of this process."""
