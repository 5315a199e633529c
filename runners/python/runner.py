# docs/runner-protocol.md
