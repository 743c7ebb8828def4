// Package part runs parts of a measurement in processes of their own, so that each
// has its own memory, processor time and connections: this program again, with a
// first argument that says which part it is.
//
//	property                                                 proven by
//	a line is answered with a line of numbers                TestAsk
//	a part that cannot answer a line says so                 TestTrouble
//	a part that has ended, or does not answer, is an error   TestEnded, TestLate
//	the output of a part without input is read               TestOutput
//	a part ends with its parent's end of the pipe            TestClose
//
// Failure modes: a part that hangs is an error after [Patience]. It ends when it is
// closed, or with its parent, because its input ends then.
package part
