// Before each file of tests. Servers inherit the variables of the network, and every Node process that has this one needs
// 50 ms more to start. Tests that reach a registry outside take it from the other name.
const { NODE_EXTRA_CA_CERTS } = process.env
if (NODE_EXTRA_CA_CERTS !== undefined) process.env.TOOLROOM_TEST_CERTIFICATES = NODE_EXTRA_CA_CERTS
delete process.env.NODE_EXTRA_CA_CERTS

// Without it, the services of the tests would ask the login shell for its PATH.
process.env.TERM ||= 'dumb'
