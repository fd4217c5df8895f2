// Package archive tests the evidence archive in S3 against an emulated S3 (moto, behind
// tests/emulator/emulator.py), through the SDK's own client. It needs what "make
// testbed-deps" puts into .venv, and no control plane.
package archive
