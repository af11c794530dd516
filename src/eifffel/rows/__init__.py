"""What callers give -> batches of rows whose groups, labels and weights are codes that can be counted."""
