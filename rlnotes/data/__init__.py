"""Memory: episodes rolled out, transitions to sample from, datasets on disk."""
