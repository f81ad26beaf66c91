export const files = ['limits']
