// Package report puts a crowd's progress and an audit's result into words: the
// lines that are redrawn while a run lasts, and the tables at its end.
package report
