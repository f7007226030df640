/** The token of the services that tests open. Not in `service.ts`, which loads the whole service. */
export const TOKEN = '0123456789abcdef'.repeat(4)
export const AUTHORISED = { 'x-svc-token': TOKEN }
