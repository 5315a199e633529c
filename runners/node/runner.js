// docs/runner-protocol.md
