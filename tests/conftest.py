"""Imported before any test: `rlnotes` sets one thread per process, which torch must not precede."""

import rlnotes

assert rlnotes
