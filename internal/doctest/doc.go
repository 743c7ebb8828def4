// Package doctest keeps the documentation correct: the names in README.md, docs and the package
// comments exist, and their examples work.
//
//	kept true                                             by                shown to fail by
//	links lead to files, and to headings in them          Links         TestPlantedErrors
//	named tests exist; so do the cases of the
//	conformance suites in the tables of package comments  Tests, Cases  TestPlantedErrors, TestPlantedPackageComments
//	environment variables, metrics, tables and other
//	words_with_underscores are in the sources             Words         TestPlantedErrors
//	paths in code spans and commands exist                Paths         TestPlantedErrors
//	targets of make exist; commands and flags are in the
//	--help of millrace and of the box office              Commands      TestPlantedErrors, TestPlantedCommands
//	Go code parses; a shown file is shown word
//	for word; a block marked "compile" compiles           GoCode        TestPlantedErrors, TestPlantedProgram
//	functions, types and fields that code names are
//	exported by their package                             Exported          TestPlantedErrors
//	Mermaid is a known kind of diagram, balanced          Mermaid       TestPlantedErrors
//	sections that other files name, such as the runbooks
//	of alerts, exist                                      References    TestPlantedReferences
//
// A check gets a [Page] and the known state of the tree, and returns the errors of the page.
// TestDocumentation, TestCommands and TestGoCode apply them to every page.
//
// Marks of a code block follow its language:
//
//	go file=examples/first/main.go     the block is that file
//	go compile                         the block is a program, and is built
//
// The checks cannot find out whether a sentence is correct. A name that is in the sources for
// another reason passes, and so does a flag of another program, if the program is neither
// millrace nor the box office.
package doctest
