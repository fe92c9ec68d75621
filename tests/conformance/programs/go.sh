# Goroutines that call C, which allocates and fills memory of its own.
mkdir -p program
cp "$(dirname "$0")/main.go.txt" program/main.go
cd program
export GOCACHE="${TMPDIR:-/tmp}/sluice-conformance-go" GO111MODULE=off CGO_ENABLED=1
go build -o cgo-program main.go
exec ./cgo-program
