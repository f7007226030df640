/**
 * The environment for a program that may reach a registry: with the certificates that test/support/environment.ts sets aside
 * for the tests.
 */
export function outsideEnv() {
  const { TOOLROOM_TEST_CERTIFICATES: certificates, ...env } = process.env
  return certificates ? { ...env, NODE_EXTRA_CA_CERTS: certificates } : env
}
