"""The Messages API in this process, behind the real SDK."""
