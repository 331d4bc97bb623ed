"""From a source to documents and the spans of their chunks."""
