// Package doctest keeps the documentation true: what README.md, docs and the
// package comments name is there, and what they show works.
//
//	kept true                                             by                shown to fail by
//	links lead to files, and to headings in them          Links         TestPlantedErrors
//	tests that are named exist; so do the cases of the
//	conformance suites in the tables of package comments  Tests, Cases  TestPlantedErrors, TestPlantedPackageComments
//	environment variables, metrics, tables and other
//	words_with_underscores are in the sources             Words         TestPlantedErrors
//	paths in code spans and commands exist                Paths         TestPlantedErrors
//	targets of make exist; commands and flags are in the
//	--help of millrace and of the box office              Commands      TestPlantedErrors, TestPlantedCommands
//	Go code parses; a file that is shown is shown word
//	for word; what is marked "compile" compiles           GoCode        TestPlantedErrors, TestPlantedProgram
//	functions, types and fields that code names are
//	exported by their package                             Exported          TestPlantedErrors
//	Mermaid is a known kind of diagram, balanced          Mermaid       TestPlantedErrors
//	sections that other files name, such as the runbooks
//	of alerts, exist                                      References    TestPlantedReferences
//
// A check takes a [Page] and what is known of the tree, and returns what is
// wrong with it. TestDocumentation, TestCommands and TestGoCode
// apply them to every page.
//
// Marks of a code block follow its language:
//
//	go file=examples/first/main.go     the block is that file
//	go compile                         the block is a program, and is built
//
// What is not seen: whether a sentence is right. A name that is in the sources
// for another reason passes, and so does a flag that another program has, where
// the program is neither millrace nor the box office.
package doctest
