/**
 * The environment for a program that may reach a registry: with the certificates that test/support/environment.ts sets aside
 * for the tests.
 */
export function outsideEnv() {
  const { TOOLROOM_TEST_CERTIFICATES: certificates, ...env } = process.env
  return certificates ? { ...env, NODE_EXTRA_CA_CERTS: certificates } : env
}

/** npm's settings, certificates and cache of this computer, for a service that has its own home directory. */
export function npmOfThisComputer() {
  const { HOME = '', ...env } = outsideEnv()
  const set = Object.entries(env).filter(([name]) =>
    /^(?:npm_config_|NODE_EXTRA_CA_CERTS|https?_proxy)/i.test(name),
  )
  return {
    npm_config_cache: `${HOME}/.npm`,
    npm_config_userconfig: `${HOME}/.npmrc`,
    npm_config_prefer_offline: 'true',
    ...Object.fromEntries(set),
  }
}
