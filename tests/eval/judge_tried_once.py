"""The judge's process for tests that are not about times: it tries no session again that other tests disturb."""

from eval.clock import sessions
from eval.judge.process import main

if __name__ == "__main__":
    sessions.ATTEMPTS = 1
    main()
