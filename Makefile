PY := .venv/bin/python

proto:
	$(PY) -m grpc_tools.protoc -Iproto --python_out=proto --pyi_out=proto --grpc_python_out=proto proto/attune/v1/*.proto
