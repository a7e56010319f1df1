"""The tools on their own: what a user's script calls to say itself what is kept, and where."""
