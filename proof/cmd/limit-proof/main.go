// Command limit-proof measures, at a simulated upstream that bans, that the rate limiter
// never breaks the upstream's limit.
//
//	go run ./proof/cmd/limit-proof [--seconds 10] [--workers 10] [--acts steady,restart]
//
// It needs a redis-server in PATH.
package main

import (
	"context"
	"os"

	"github.com/millrace-go/millrace/proof/limitproof"
)

func main() { os.Exit(limitproof.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
