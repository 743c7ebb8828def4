// Package officetest is a small box office in memory for the tests of crowd,
// audit and demo: right by default, and wrong in one chosen way ([Fault]) to
// show that the audit finds it. Its payment gateway is in memory too.
package officetest
