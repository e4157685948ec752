() => {
    const model = ve.init.target.getSurface().getModel();
    const data = model.getDocument().data.data;
    let n = 0;
    while (data.slice(n, n + 6).map((each) => each[0] || each).join('') !== '69,500') n++;
    model.getLinearFragment(new ve.Range(n, n + 6)).insertContent('96,500');
}
