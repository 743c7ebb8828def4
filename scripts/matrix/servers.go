package main

import (
	"fmt"
	"slices"
	"strings"
)

// embedded are those that need no start. make test runs their suites, so that they are
// columns only where SERVERS names them.
var embedded = []string{"memory", "sqlite"}

// serversOf lists the servers of the cells, once each, in their order.
func serversOf(cells []cell) (names []string) {
	for _, c := range cells {
		for _, name := range c.needs {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// choose divides the cells of the columns that SERVERS names: those whose servers
// are all named, and those that are left out because another one is not. Without
// a name those of all servers are chosen.
func choose(cells []cell, servers, versions string) (chosen, left []cell, err error) {
	switch versions {
	case "", "default":
	case "all":
		return nil, nil, fmt.Errorf("VERSIONS is %q: only the default version of each server is built so far; leave VERSIONS out", versions)
	default:
		return nil, nil, fmt.Errorf("VERSIONS is %q; give default, or leave it out", versions)
	}
	names := strings.Fields(servers)
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return slices.Contains(embedded, c.needs[0]) }), nil, nil
	}
	for _, name := range names {
		if all := serversOf(cells); !slices.Contains(all, name) {
			return nil, nil, fmt.Errorf("SERVERS: there is no server %q; there are: %s", name, strings.Join(all, " "))
		}
	}
	for _, c := range cells {
		switch {
		case !slices.Contains(names, c.needs[0]):
		case len(c.missing(names)) > 0:
			left = append(left, c)
		default:
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil, nil, fmt.Errorf("SERVERS: no suite runs on %s alone", strings.Join(names, " and "))
	}
	return chosen, left, nil
}

// missing are the servers that the cell needs and that are not named.
func (c cell) missing(names []string) []string {
	return slices.DeleteFunc(slices.Clone(c.needs), func(name string) bool { return slices.Contains(names, name) })
}

// starts lists the servers to start for the cells.
func starts(cells []cell) []string {
	return slices.DeleteFunc(serversOf(cells), func(name string) bool { return slices.Contains(embedded, name) })
}

// pattern is the flag -run of go test for the cells of a package.
func pattern(cells []cell, pkg string) string {
	var tests []string
	for _, c := range cells {
		if c.pkg == pkg {
			tests = append(tests, c.tests.String())
		}
	}
	return strings.Join(tests, "|")
}
