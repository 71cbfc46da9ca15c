"""Results of runs to read: tables, figures, and one page about many runs."""
