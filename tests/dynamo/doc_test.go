// Package dynamo tests the ledger in DynamoDB against an emulated DynamoDB (moto, behind
// tests/emulator/emulator.py). It needs what "make testbed-deps" puts into .venv, and no
// control plane.
package dynamo
