
// The header of a signed-in caller, from the environment.
function credentials() {
  const value = process.env[@VARIABLE@];
  return value ? { [@NAME@]: value } : {};
}
