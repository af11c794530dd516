"""What every part needs: checks of arguments, threads, optional packages, files, Ctrl-C."""
