package queuepage

import "testing"

// TestSqueeze drops spaces of the program, and none of its texts and patterns.
func TestSqueeze(t *testing.T) {
	for program, want := range map[string]string{
		"const a = b ? c : d;\n":                              "const a=b?c:d;",
		"if (a && b) return { c, d };\n":                      "if(a&&b)return{c,d};",
		"a + -b - -c / d in e;\n":                             "a + -b - -c / d in e;",
		"x = 'a = b';\n":                                      "x='a = b';",
		`x = 'it\'s = b' + "c = d";` + "\n":                   `x='it\'s = b' + "c = d";`,
		"x = /[/ ] = \\/ 'b/u.test(a = b);\n":                 "x=/[/ ] = \\/ 'b/u.test(a=b);",
		"x = `a = ${b ? `c = ${d }` : e} f`;\n":               "x=`a = ${b?`c = ${d}`:e} f`;",
		"x = `a ${((f) => { return f; })(b)} = c`;\ny = 1;\n": "x=`a ${((f)=>{return f;})(b)} = c`;y=1;",
		"async () => { await a; }\n":                          "async()=>{await a;}\n",
		"f(\n  a,\n  b,\n)\nlet c\n":                          "f(a,b,)\nlet c\n",
		"x = 'never ends":                                     "x='never ends",
	} {
		if got := squeeze(program); got != want {
			t.Errorf("%q became %q, want %q", program, got, want)
		}
	}
}
