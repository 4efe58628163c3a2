"""
The page in the browser: forms and lists over what the tools do, on this machine only.

Nothing is decided here. What a form changes is a command (`commands`), what a list shows is what the engine answers.
"""
