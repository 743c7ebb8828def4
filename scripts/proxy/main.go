// Command proxy packs the modules of this tree into a GOPROXY of files, so that
// another module can require them as it would a release:
//
//	go run ./scripts/proxy -version v0.1.0-mine build/proxy
//	cd /an/empty/folder && go mod init example.com/mine
//	export GOPROXY="file:///the/tree/build/proxy,$(go env GOPROXY)" GONOSUMDB='github.com/millrace-go/*'
//	go get github.com/millrace-go/millrace@v0.1.0-mine
//
// The go command caches each version that it has seen. So give each state of the tree a
// version of its own. The requirements of the modules on each other are packed with
// that version as well. Files that git ignores are left out.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	version := flag.String("version", "v0.1.0-tree", "the version that the modules get")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: proxy [-version v0.1.0-mine] FOLDER")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := Pack(".", flag.Arg(0), *version); err != nil {
		fmt.Fprintln(os.Stderr, "proxy:", err)
		os.Exit(1)
	}
}
