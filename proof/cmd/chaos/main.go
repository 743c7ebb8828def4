// Command chaos kills the box office at random moments, and its relay between publish and
// cursor, while a crowd uses it, and compares the books with all answers.
//
//	go run ./proof/cmd/chaos [--kills 100] [--relay-kills 30] [--seed 7]
package main

import (
	"context"
	"os"

	"github.com/millrace-go/millrace/proof/chaos"
)

func main() { os.Exit(chaos.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
