*** Settings ***
Documentation       Switches connect by TLS with certificates of an authority; who has none is refused and reported, and a datapath belongs to who came with it first.
Resource            ../resources/coeus.resource
Library             ../libraries/SwitchTls.py
Suite Setup         Start Two Nodes With Certificates
Suite Teardown      Run Keywords    Stop Lab    AND    Remove Authorities

*** Test Cases ***
Pods Reach Each Other Over Switches With TLS
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    2    10.11.2.10    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.10
    FOR    ${node}    IN    1    2
        Wait Until Keyword Succeeds    30 s    300 ms    Should Be Connected By TLS    ${node}
        ${dpid}=    Dpid Of    ${node}
        ${owner}=    Owner Of    ${dpid}
        Should Contain    ${owner}    CN=node${node}
    END

Without TLS A Switch Is Refused
    Add Stranger
    Connect By    tcp    3
    Should Come To Be Refused    3    ovsdb    no-tls
    Should Have No Bridge    3

Without A Certificate A Switch Is Refused
    Talk TLS Without Certificate    3    6640
    Talk TLS Without Certificate    3    6653
    Should Come To Be Refused    3    ovsdb    no-certificate
    Should Come To Be Refused    3    openflow    no-certificate

A Foreign Authority Vouches For Nobody
    Give Certificate    3    node3    foreign
    Connect By    ssl    3
    Should Come To Be Refused    3    ovsdb    unknown-authority
    Should Have No Bridge    3

An Expired Certificate Is Refused
    Give Certificate    3    node3    expired
    Should Come To Be Refused    3    ovsdb    expired
    Should Have No Bridge    3
    ${found}=    Doctor
    Should Match Regexp    ${found}    FAULT\\s+peer 10.99.0.3\\s.*expired.*renew

A Second Switch With The Same Datapath Is Refused
    Disconnect    3
    Give Certificate    3    node3
    ${dpid}=    Dpid Of    1
    ${before}=    Switch Leaf    1    connects
    Pretend To Be    3    ${dpid}
    Connect By    ssl    3
    ${times}=    Should Come To Be Refused    3    openflow    other-identity
    Should Come To Be Refused    3    ovsdb    other-identity
    Should Come To Be Refused    3    openflow    other-identity    ${times}
    ${found}=    Doctor
    Should Match Regexp    ${found}    FAULT\\s+switch ${dpid}\\s.*belongs to .*CN=node1.*coeus-switch:release
    ${page}=    GET On Session    coeus    /metrics    expected_status=200
    Should Match Regexp    ${page.text}    coeus_southbound_refused_total\\{protocol="openflow",reason="other-identity"\\} [1-9]

The Rightful Switch Does Not Notice
    ${dpid}=    Dpid Of    1
    ${status}=    Switch Leaf    1    connected
    Should Be True    ${status}
    Should Be Connected By TLS    1
    Ping Should Pass Once    blue:p1    10.11.2.10
    Create And Plug Pod    p3    blue    1    10.11.1.11    10.11.1.1
    Ping Should Pass    blue:p3    10.11.2.10
    Wait For Switches
    Tables Should Be As From Scratch    @{TLS}

A Renewed Certificate Changes Nothing
    ${dpid}=    Dpid Of    2
    ${connects}=    Switch Leaf    2    connects
    Give Certificate    2    node2
    Disconnect    2
    Connect By    ssl    2
    Wait Until Keyword Succeeds    30 s    300 ms    Should Have Connected    2    ${connects}
    ${owner}=    Owner Of    ${dpid}
    Should Contain    ${owner}    CN=node2
    Ping Should Pass    blue:p1    10.11.2.10

What Is Bound Outlives The Controller
    Stop Controller
    Start Controller    @{TLS}
    Wait For Switches
    Should Come To Be Refused    3    openflow    other-identity
    Ping Should Pass    blue:p1    10.11.2.10

A Datapath That Was Released Is The Next One's
    Disconnect    1
    ${dpid}=    Dpid Of    1
    ${was}=    Release Datapath    ${dpid}
    Should Contain    ${was}    CN=node1
    Wait Until Keyword Succeeds    30 s    300 ms    Should Be Owned By    ${dpid}    CN=node3

A Switch That Is Dialled Shows Its Certificate As Well
    Add Node Without Controller
    Give Certificate    4    node4    foreign
    Listen By TLS    4
    Stop Controller
    Start Controller    @{TLS}    --ovsdb-connect    ssl:10.99.0.4:6640
    Should Come To Be Refused    4    ovsdb    unknown-authority
    Should Have No Bridge    4
    Give Certificate    4    node4
    Wait For Bridge    4
    Wait Until Keyword Succeeds    30 s    300 ms    Should Be Connected By TLS    4
    ${dpid}=    Dpid Of    4
    ${owner}=    Owner Of    ${dpid}
    Should Contain    ${owner}    CN=node4

*** Keywords ***
Start Two Nodes With Certificates
    ${options}=    Make Authorities
    Set Suite Variable    @{TLS}    @{options}
    Start Lab And Session    0    @{options}
    FOR    ${node}    IN    1    2
        Add Node Without Controller
        Give Certificate    ${node}    node${node}
        Connect By    ssl    ${node}
        Wait For Bridge    ${node}
        Announce Node    ${node}    10.11.${node}.0/24
    END

Should Be Connected By TLS
    [Arguments]    ${node}
    ${target}    ${connected}=    Controller Of    ${node}
    Should Match    ${target}    ssl:*:6653
    Should Be True    ${connected}

Should Have No Bridge
    [Arguments]    ${node}
    ${bridges}=    Bridges Of    ${node}
    Should Not Contain    ${bridges}    br-int

Should Have Connected
    [Documentation]    More often than so many times.
    [Arguments]    ${node}    ${times}
    ${connects}=    Switch Leaf    ${node}    connects
    ${status}=    Switch Leaf    ${node}    connected
    Should Be True    ${connects} > ${times} and ${status}

Should Be Owned By
    [Arguments]    ${dpid}    ${name}
    ${owner}=    Owner Of    ${dpid}
    Should Contain    ${owner}    ${name}
