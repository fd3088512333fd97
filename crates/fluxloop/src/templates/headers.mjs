
// The headers that tell who calls, from the environment.
function headers() {
  const variables = @HEADERS@;
  const known = Object.entries(variables).map(([name, variable]) => [name, process.env[variable]]);
  return Object.fromEntries(known.filter(([, value]) => value));
}
