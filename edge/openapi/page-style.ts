/** The page's look, in light and dark, on paper-wide and phone-wide screens. */
export const pageStyle = `
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6675; --paper: #fff; --panel: #f3f5f8; --line: #d8dee6; --accent: #0a6b8a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde4ec; --soft: #97a4b3; --paper: #12171d; --panel: #1b222b; --line: #303a46; --accent: #63c5e4; }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--accent); }
h1, h2, h3, h4 { line-height: 1.2; margin: 2em 0 .5em; }
h1 { margin-top: .5em; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: .25em; }
h4 { margin-top: 1.5em; }
p { max-width: 46rem; }
code, pre { font: .875em/1.5 ui-monospace, monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; max-height: 28rem; white-space: pre; overflow-wrap: normal; }
pre code { font-size: 1em; }
article { border-top: 1px solid var(--line); margin-top: 2.5rem; }
.route { font-size: 1.05rem; }
.label, .example { color: var(--soft); }
.label { margin-bottom: -.5rem; }
.example { font: .875em ui-monospace, monospace; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
tbody th { font-weight: 400; white-space: nowrap; }
nav ul { list-style: none; margin: 0; padding: 0; font-size: .9rem; }
nav li { padding: .15rem 0; }
details { margin: .4rem 0; }
summary { cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); column-gap: 2.5rem; }
  header { grid-column: 1 / -1; }
  nav { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem); overflow-y: auto; }
}
@media (max-width: 40rem) { tbody th { white-space: normal; } td, th { padding-right: .5rem; } }
`;
