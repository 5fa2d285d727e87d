"""`python -m everalign` is the command line."""

from everalign.cli.main import main

if __name__ == "__main__":
    main()
