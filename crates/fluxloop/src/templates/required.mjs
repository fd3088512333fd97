
// A value that only you know.
function required(name) {
  if (!process.env[name]) throw new Error(`set ${name}: the call needs it`);
  return process.env[name];
}
