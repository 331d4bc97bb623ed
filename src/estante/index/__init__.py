"""From a query to hits: words, vectors, and the stores that hold them."""
