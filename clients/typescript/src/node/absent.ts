/** In place of Node's part, for bundles that go to browsers. */
export {};
throw new Error("Node's modules are not here");
